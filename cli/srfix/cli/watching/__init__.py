"""What `srfix watch` alone has: its options, and its lines. Apart from the other commands', which load less."""
