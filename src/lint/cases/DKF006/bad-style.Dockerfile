FROM nvidia/cuda:12.8.1-devel-ubuntu22.04 as compile
COPY kernels.cu /src/kernels.cu
RUN pip install torch==2.7.1
RUN nvcc -o /src/kernels /src/kernels.cu

FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
COPY --from=compile /src/kernels /usr/local/bin/kernels
