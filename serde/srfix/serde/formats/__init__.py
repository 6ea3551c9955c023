"""One module per wire format beside `interface`, which says what each of them exports."""
