"""What hair is: strands and their attributes, resampling, binding, guides, growth, repair, styles."""
