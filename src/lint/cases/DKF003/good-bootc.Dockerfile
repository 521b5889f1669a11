FROM quay.io/centos-bootc/centos-bootc:stream9
ARG DRIVER_VERSION=570.124.06
RUN dnf install -y nvidia-driver-${DRIVER_VERSION} && bootc container lint
