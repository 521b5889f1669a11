FROM nvidia/cuda:12.8.1-devel-ubuntu22.04 AS cuda
RUN apt-get update && apt-get install -y --no-install-recommends python3 && rm -rf /var/lib/apt/lists/*

FROM cuda
COPY server.py /app/server.py
CMD ["python3", "/app/server.py"]
