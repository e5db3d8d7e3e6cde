# FreezePipe's images, from Debian and PyPI alone. scripts/images builds them and writes archives; by hand:
#
#   docker build --target operator    -t REGISTRY/freezepipe-operator:0.1.0 .
#   docker build --target worker-cpu  -t REGISTRY/freezepipe-worker-cpu:0.1.0 .
#   docker build --target worker-cuda -t REGISTRY/freezepipe-worker-cuda:0.1.0 .
#
# Compiled objects and LibTorch are kept in a cache mount, so a rebuild compiles what has changed.

FROM debian:bookworm-slim AS builder
# By which scripts/images finds what earlier builds left.
LABEL io.freezepipe.stage=build
COPY scripts/packages-debian.txt /tmp/packages
RUN apt-get update -qq && \
    grep -v -e ^clang- -e ^dataset- /tmp/packages | \
      DEBIAN_FRONTEND=noninteractive xargs apt-get install -y -qq --no-install-recommends >/dev/null && \
    rm -rf /var/lib/apt/lists/*
# ccache compares headers' absolute paths and the language: here as on a developer's machine.
ENV HOME=/root LANG=C.UTF-8 CCACHE_DIR=/root/.cache/freezepipe/ccache CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1
WORKDIR /src

FROM builder AS build-operator
COPY . .
RUN --mount=type=cache,id=freezepipe,target=/root/.cache/freezepipe \
    scripts/build-image operator freezepipe-operator freezepipe-trial

FROM builder AS build-worker-cpu
COPY . .
# pip.conf and ca.crt: how PyPI is reached where it isn't reached directly.
RUN --mount=type=cache,id=freezepipe,target=/root/.cache/freezepipe \
    --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca.crt,target=/etc/ssl/certs/ca-certificates.crt \
    scripts/build-image worker freezepipe-worker

FROM builder AS build-worker-cuda
COPY . .
RUN --mount=type=cache,id=freezepipe,target=/root/.cache/freezepipe \
    --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca.crt,target=/etc/ssl/certs/ca-certificates.crt \
    scripts/build-image cuda freezepipe-worker freezepipe_cuda

# The images hold a program, the libraries that it loads, and nothing else: no shell, no package manager.
FROM scratch AS image
USER 65532:65532
ENV LANG=C.UTF-8
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.vendor="FreezePipe" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version=$VERSION \
      org.opencontainers.image.revision=$REVISION

FROM image AS operator
LABEL org.opencontainers.image.title="freezepipe-operator" \
      org.opencontainers.image.description="Runs FreezePipeJobs on Kubernetes and gives their GPUs back while they learn"
COPY --from=build-operator /image /
ENTRYPOINT ["/opt/freezepipe/bin/freezepipe-operator"]

FROM image AS worker-cpu
LABEL org.opencontainers.image.title="freezepipe-worker" \
      org.opencontainers.image.description="Trains one pipeline stage of a FreezePipeJob on CPU"
COPY --from=build-worker-cpu /image /
ENTRYPOINT ["/opt/freezepipe/bin/freezepipe-worker"]

FROM image AS worker-cuda
LABEL org.opencontainers.image.title="freezepipe-worker" \
      org.opencontainers.image.description="Trains one pipeline stage of a FreezePipeJob on a CUDA device or on CPU"
# What the NVIDIA container toolkit mounts into the container.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=build-worker-cuda /image /
ENTRYPOINT ["/opt/freezepipe/bin/freezepipe-worker"]
