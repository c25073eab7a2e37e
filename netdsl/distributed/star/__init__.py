"""Workers that have connections to the driver only, which adds up what they send and passes on what they say."""
