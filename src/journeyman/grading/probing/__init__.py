"""What runs programs inside a box; see `journeyman.grading.programs`, which asks."""
