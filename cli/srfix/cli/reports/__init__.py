"""What commands show: a function for each value."""
