FROM python:3.12-slim
RUN pip install --no-cache-dir "journeyman[office]==@VERSION@"
COPY . /tests
