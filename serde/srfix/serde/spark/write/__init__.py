"""Typed rows → payloads: the plan, its text, and frames made of it."""

from srfix.serde.spark.write.frame_row import FrameRow, bad_row_words, frame_row
from srfix.serde.spark.write.jvm import JvmWrite, jvm_write
from srfix.serde.spark.write.plan import WritePlan, plan_write
