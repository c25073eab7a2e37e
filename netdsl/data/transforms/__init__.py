"""What is done to images between their files and a batch."""
