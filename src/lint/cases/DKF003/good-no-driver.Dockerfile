FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends python3 cuda-cudart-12-8
CMD ["python3"]
