FROM ubuntu:24.04
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY server /usr/local/bin/server
CMD ["server"]
