package namespace

// ignorable reports whether r is a Default_Ignorable code point: one that
// renders as nothing and that case-folding storage skips in names.
func ignorable(r rune) bool {
	if r < 0xad {
		return false
	}
	switch {
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x3164, r == 0xfeff, r == 0xffa0,
		0x115f <= r && r <= 0x1160,
		0x17b4 <= r && r <= 0x17b5,
		0x180b <= r && r <= 0x180f,
		0x200b <= r && r <= 0x200f,
		0x202a <= r && r <= 0x202e,
		0x2060 <= r && r <= 0x206f,
		0xfe00 <= r && r <= 0xfe0f,
		0xfff0 <= r && r <= 0xfff8,
		0x1bca0 <= r && r <= 0x1bca3,
		0x1d173 <= r && r <= 0x1d17a,
		0xe0000 <= r && r <= 0xe0fff:
		return true
	}
	return false
}
