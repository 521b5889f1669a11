FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64
CMD ["server"]
