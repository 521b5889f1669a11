FROM nvidia/cuda:12.8.1-devel-ubuntu22.04 AS compile
COPY src /src
RUN make -C /src

FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
COPY --from=compiler /src/out/server /usr/local/bin/server
RUN --mount=type=bind,from=assets,target=/assets cp -r /assets/models /models
ENTRYPOINT ["/usr/local/bin/server"]
