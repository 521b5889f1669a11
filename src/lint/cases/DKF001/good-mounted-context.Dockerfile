FROM rockylinux:9 AS build
RUN --mount=type=bind,from=tarball,source=rocm.tar.gz,target=/tmp/rocm.tar.gz \
    tar -xzf /tmp/rocm.tar.gz -C /opt

FROM rockylinux:9-minimal
COPY --from=build /opt/lib /usr/local/lib
CMD ["/usr/local/bin/exporter"]
