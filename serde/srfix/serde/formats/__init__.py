"""One module per wire format, beside `interface`, which defines the names that each of them exports."""
