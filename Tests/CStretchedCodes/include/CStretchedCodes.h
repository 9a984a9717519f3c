// The tests call nothing here: see CStretchedCodes.c.
