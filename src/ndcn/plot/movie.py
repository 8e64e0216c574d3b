"""Moving pictures as files: GIF by Pillow, MP4 by the program ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from PIL import Image

from .._support.files import write
from .style import INK, PREDICTION, STATE_MAP, TRUTH

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


def check_movie(path: Path, fps: float) -> None:
    """Refuse, before anything is drawn, what cannot be written.

    Raises:
        ValueError: another suffix than ".gif" and ".mp4", or fps out of range.
        FileNotFoundError: ffmpeg is needed and is not there.
    """
    if path.suffix.lower() not in (".gif", ".mp4"):
        raise ValueError(f'animations are GIF or MP4: the name must end in ".gif" or ".mp4", got {path.name!r}')
    if not 0 < fps <= 50:
        raise ValueError(f"fps must be in (0, 50], got {fps}")
    if path.suffix.lower() == ".mp4" and shutil.which("ffmpeg") is None:
        raise FileNotFoundError(
            f"{path.name} needs the program ffmpeg, which is not on the PATH: install ffmpeg "
            '(e.g. "apt-get install ffmpeg"), or give a name that ends in ".gif"'
        )


def write_movie(path: Path, frames: Iterator[np.ndarray], fps: float) -> None:
    """Write frames, uint8 of shape (height, width, 3), to a file that appears in one move when it is complete.

    Raises:
        OSError: the file cannot be written, or ffmpeg failed; nothing is left behind.
    """
    make = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    write(path, lambda new: make(new, frames, fps))


def _write_gif(path: Path, frames: Iterator[np.ndarray], fps: float) -> None:
    palette = _palette()
    pictures = (Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    first = next(pictures)
    first.save(path, format="GIF", save_all=True, append_images=pictures, duration=round(1000 / fps), loop=0)


def _write_mp4(path: Path, frames: Iterator[np.ndarray], fps: float) -> None:
    """H.264 in 4:2:0, which every player reads and which needs even sizes: an odd last row or column is left out."""
    first = next(frames)
    height, width = (2 * (size // 2) for size in first.shape[:2])
    read = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-"]
    encode = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart", "-f", "mp4"]
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(
            ["ffmpeg", "-y", "-loglevel", "error", *read, *encode, str(path)], stdin=subprocess.PIPE, stderr=messages
        )
        assert process.stdin is not None
        try:
            for frame in chain([first], frames):
                process.stdin.write(np.ascontiguousarray(frame[:height, :width]).tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # ffmpeg has ended; it says why below
        except BaseException:
            process.kill()
            raise
        finally:
            code = process.wait()
        messages.seek(0)
        if code:
            said = messages.read().decode(errors="replace").strip().splitlines()
            raise OSError(f"ffmpeg failed ({said[-1] if said else f'it ended with {code}'})")


def _palette() -> Picture:
    """256 colours for all frames: the colour map, and shades from white to each colour of text and lines."""
    inks = np.array([to_rgb(colour) for colour in (INK, TRUTH, PREDICTION, "black")])
    shades = 1 - np.linspace(0, 1, 16)[None, :, None] * (1 - inks[:, None, :])
    colours = np.concatenate([colormaps[STATE_MAP](np.linspace(0, 1, 192))[:, :3], shades.reshape(-1, 3)])
    palette = Image.new("P", (1, 1))
    palette.putpalette((255 * colours).round().astype(np.uint8).tobytes())
    return palette
