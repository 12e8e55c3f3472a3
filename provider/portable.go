package provider

import (
	"fmt"
	"strings"
)

// PortableElem says why Windows could not hold elem exactly as it is spelled,
// or nil if it can. It judges one element, knows nothing of the platform it runs
// on, and is a pure function; errors are [ErrPath].
//
// Refused are: what [Path.Join] refuses; any of < > : " | ? *; a trailing dot or
// blank; and the device names CON, PRN, AUX, NUL, CONIN$, CONOUT$, COM0 to COM9
// and LPT0 to LPT9 (superscript one to three too), in any case and with any
// extension. Source: Microsoft, "Naming Files, Paths, and Namespaces"; which
// names with an extension are devices differs between Windows versions, so all
// of them are refused.
func PortableElem(elem string) error {
	if _, err := (Path{}).Join(elem); err != nil {
		return err
	}
	if i := strings.IndexAny(elem, `<>:"|?*`); i >= 0 {
		return pathError(fmt.Sprintf("%q is not allowed in a Windows name", elem[i:i+1]))
	}
	if strings.HasSuffix(elem, ".") || strings.HasSuffix(elem, " ") {
		return pathError("Windows drops a trailing dot or blank")
	}
	if isDevice(elem) {
		return pathError("a Windows device name")
	}
	return nil
}

// isDevice reports whether Windows may take elem for a device.
func isDevice(elem string) bool {
	base, _, _ := strings.Cut(elem, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	digit, ok := strings.CutPrefix(base, "COM")
	if !ok {
		digit, ok = strings.CutPrefix(base, "LPT")
	}
	if !ok {
		return false
	}
	switch digit {
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "\u00b9", "\u00b2", "\u00b3":
		return true
	}
	return false
}
