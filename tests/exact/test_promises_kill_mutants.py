"""The privacy page names no test that a wrong product passes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.mutants.promises import REFUSALS, ROOT, WRONG_PRODUCTS, environment

TIMEOUT_S = 600


@pytest.mark.parametrize("name", WRONG_PRODUCTS)
def test_each_wrong_product_differs_from_the_product_in_one_place(name: str, tmp_path: Path) -> None:
    _, product = WRONG_PRODUCTS[name]
    product.plant(tmp_path)
    assert (tmp_path / product.file).read_text(encoding="utf-8") != (ROOT / product.file).read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize(("name", "test"), REFUSALS)
def test_a_wrong_product_fails_the_test_that_the_page_names(name: str, test: str, tmp_path: Path) -> None:
    _, product = WRONG_PRODUCTS[name]
    product.plant(tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=short", "-p", "no:cacheprovider", test]
    run = subprocess.run(
        command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout + run.stderr
    assert re.search(r"^FAILED ", run.stdout, re.MULTILINE), run.stdout
    assert not re.search(r"^ERROR ", run.stdout, re.MULTILINE), run.stdout
