"""A model as an HTTP server that answers images. Only this package uses Starlette and uvicorn, the extra `serve`."""
