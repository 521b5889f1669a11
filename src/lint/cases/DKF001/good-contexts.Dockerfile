FROM deps AS board-deps
WORKDIR /opt/app
USER 1000
COPY --from=rootfs / /
