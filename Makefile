# SPDX-License-Identifier: Apache-2.0
# The front door: each target does its own set-up. The build itself is CMake's (CMakeLists.txt, CMakePresets.json).
PREFIX ?= /usr/local
SECONDS_EACH ?= 60
COUNT ?= 100
SEED ?= 1

.PHONY: help demo build gpu python docs robots test test-long test-mutants test-nightly bench fuzz format install clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 20

demo: build ## build, then a soft robot from its mesh to real-time control, with a report: out/demo/report.html
	build/tendril demo

build: ## build the library and the program, build/tendril
	@scripts/setup build
	@scripts/web || echo "make build: without the page of the viewer: 'tendril view' serves a placeholder" >&2
	@cmake --preset release >/dev/null
	@cmake --build build --target product
	@scripts/robots

gpu: build ## the back end of batches for GPUs of NVIDIA, where nvcc is (a minute)
	@command -v nvcc /usr/local/cuda/bin/nvcc >/dev/null || { echo "make gpu: nvcc, the compiler of CUDA, is not installed" >&2; exit 1; }
	@cmake --build build --target tendril_gpu

python: build ## install the Python package into a virtual environment, VENV=out/venv (SYSTEM=1: for all users)
	@scripts/setup python
	@scripts/python $(if $(SYSTEM),--system,$(VENV))

docs: build ## the documentation as a site, pictures drawn anew: out/site (MEASURE=1: what was measured, too; minutes)
	@scripts/setup $(if $(MEASURE),test,docs)
	@$(if $(MEASURE),scripts/verification && scripts/reduction-errors &&) scripts/docs

robots: build ## make the meshes and the reduced models of the robots that are missing (FINE=1: of the fine meshes)
	@scripts/robots --reduce $(if $(FINE),--fine)

test: ## every check: tests, sanitizers, browser, layout, static analysis, fuzzing, ARM64
	@scripts/setup test
	@scripts/test

test-long: ## the tests that take minutes, those that sanitizers slow down, and the static analyzer over all sources
	@scripts/setup test
	@cmake --preset release >/dev/null
	@cmake --build build
	@ctest --test-dir build -L long --output-on-failure --no-tests=ignore
	@cmake --preset asan >/dev/null
	@cmake --build build-asan
	@ctest --test-dir build-asan -L figures -j 2 --output-on-failure
	@cmake --preset ubsan >/dev/null
	@cmake --build build-ubsan --target product short_tests
	@ctest --test-dir build-ubsan -L short -j 2 --output-on-failure
	@scripts/tidy

test-mutants: ## how good the tests are: COUNT=100 small changes of the sources, of SEED=1, and which of them no test notices
	@scripts/setup test
	@scripts/mutants --count $(COUNT) --seed $(SEED)

test-nightly: build ## the reduced robots from nothing, against limits, and killed in every phase (FINE=1: fine ones)
	@scripts/nightly $(if $(FINE),--fine)

bench: build ## measure the speed of this machine; JSON and plots to out/bench
	build/tendril bench --out out/bench --force

fuzz: ## fuzz each target for SECONDS_EACH=60 seconds
	@scripts/setup test
	@scripts/fuzz $(SECONDS_EACH)

format: ## lay out the sources
	@scripts/setup test
	@scripts/format

install: build ## install library, header and program below PREFIX=/usr/local
	cmake --install build --prefix "$(PREFIX)"

clean: ## remove everything that was built
	rm -rf build build-dev build-asan build-ubsan build-tsan build-fuzz build-arm64 build-mutants
	rm -f robots/*/fine.msh robots/*/*.h5
