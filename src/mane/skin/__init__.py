"""How guides carry every hair: a skin is bound once and then fills the full head from a `GuideFrame`."""
