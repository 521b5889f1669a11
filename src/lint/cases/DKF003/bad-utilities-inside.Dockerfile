FROM ubuntu:22.04
RUN apt-get update && apt-get install -y --no-install-recommends \
    python3 \
    nvidia-utils-535
CMD ["nvidia-smi"]
