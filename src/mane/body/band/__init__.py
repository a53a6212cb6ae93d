"""The distance field of a surface that deforms, made anew for each time that is asked for."""
