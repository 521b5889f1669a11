FROM golang:1.24 AS compile
COPY . /src
RUN cd /src && go build -o /out/agent ./cmd/agent

FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
COPY --from=compile /out/agent /usr/local/bin/agent
COPY --from=0 /src/LICENSE /LICENSE
COPY --from=busybox /bin/busybox /bin/busybox
COPY --from=ghcr.io/astral-sh/uv:0.8.0 /uv /bin/uv
ENTRYPOINT ["/usr/local/bin/agent"]
