FROM python:3.12-slim
RUN useradd --create-home --uid 1000 agent
COPY --chown=agent:agent workspace /workspace
WORKDIR /workspace
