FROM ubuntu:24.04
ENV NVIDIA_VISIBLE_DEVICES=all
COPY server /usr/local/bin/server
CMD ["server"]
