FROM ubuntu:22.04
RUN apt-get update && apt-get install -y cuda-compat-12-8
ENV LD_LIBRARY_PATH=/usr/local/cuda/compat:/usr/local/cuda/lib64
CMD ["server"]
