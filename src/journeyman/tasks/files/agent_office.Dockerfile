FROM python:3.12-slim
RUN pip install --no-cache-dir paper-docx==0.2.1 paper-xlsx==0.2.2 paper-pptx==0.2.1
RUN useradd --create-home --uid 1000 agent
COPY --chown=agent:agent workspace /workspace
WORKDIR /workspace
