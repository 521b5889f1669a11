FROM nvidia/cuda:12.8.1-devel-ubuntu22.04 AS compile
COPY src /src
RUN make -C /src

FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
COPY --from=compile /src/out/server /usr/local/bin/server
CMD ["server"]
