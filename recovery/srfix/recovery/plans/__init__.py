"""What all plans have in common: file and digest, journal, carrying out, rolling back. What is written is their kinds' own."""
