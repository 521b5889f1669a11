FROM python:3.12-slim AS builder
RUN pip install --prefix=/install torch==2.6.0

FROM python:3.12-slim
COPY --from=build install/lib /usr/local/lib
COPY --from=compiler /install/bin /usr/local/bin
CMD ["python3"]
