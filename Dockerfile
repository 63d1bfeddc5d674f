# SPDX-License-Identifier: Apache-2.0
# The program in a container: the packages of scripts/deb on a plain Debian 12.
#
#     docker build -t tendril .
#     docker run --rm -v "$PWD:/work" tendril run scene.yaml --out out/run
#     docker run --rm -p 8321:8321 -v "$PWD:/work" tendril view scene.yaml --host 0.0.0.0
FROM debian:12 AS build
RUN apt-get update -q && apt-get install -y --no-install-recommends git make ca-certificates
WORKDIR /tendril
COPY scripts/setup scripts/setup
RUN scripts/setup build
COPY . .
RUN make deb

FROM debian:12-slim
COPY --from=build /tendril/out/deb /tmp/deb
# With gmsh, for 'tendril mesh'.
RUN apt-get update -q && apt-get install -y --no-install-recommends gmsh /tmp/deb/*.deb && rm -rf /tmp/deb /var/lib/apt/lists/*
WORKDIR /work
ENTRYPOINT ["tendril"]
CMD ["--help"]
