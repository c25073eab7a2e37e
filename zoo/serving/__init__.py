"""A model behind HTTP: images come in, answers go out. Starlette and uvicorn, the extra `serve`, are used only here."""
