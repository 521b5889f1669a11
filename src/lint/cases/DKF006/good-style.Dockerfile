FROM nvidia/cuda:12.8.1-devel-ubuntu22.04 AS compile
ENV TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0+PTX"
COPY kernels.cu /src/kernels.cu
RUN pip install --no-cache-dir torch==2.7.1
RUN nvcc -gencode arch=compute_80,code=sm_80 -o /src/kernels /src/kernels.cu

FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
COPY --from=compile /src/kernels /usr/local/bin/kernels
