"""Cases with known answers for strand models, which benchmarks and validations share."""
