FROM rockylinux:9 AS build
RUN make -C /src

FROM rockylinux:9-minimal
RUN --mount=type=bind,from=builder,source=out,target=/out cp /out/server /usr/local/bin/
RUN --mount=type=bind,from=compiler,source=/out,target=/out cp /out/tool /usr/local/bin/
