"""The notebook, and the code on the pages, run as they are."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
import yaml
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", sorted((ROOT / "python/examples").glob("*.ipynb")), ids=lambda path: path.name)
def test_a_notebook_runs(path, saved, tmp_path):
    shutil.copy(saved, tmp_path / "result.json")
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is committed without its outputs"
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()


def test_the_workflow_is_valid():
    workflow = yaml.safe_load((ROOT / "examples/github-actions/pull-request.yml").read_text())
    # YAML reads the word `on` as true.
    assert workflow[True] == "pull_request"
    for job in workflow["jobs"].values():
        assert job["runs-on"] and job["timeout-minutes"]
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])
        assert all(step["name"] for step in job["steps"])


def test_the_code_on_the_page_runs(saved, tmp_path, monkeypatch):
    shutil.copy(saved, tmp_path / "result.json")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.DOTALL)
    assert len(blocks) >= 3
    names = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), names)
