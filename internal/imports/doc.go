// Package imports holds the test that pins which package may import which: the
// layers point one way, the library's requirements stay at six modules, and no
// leaf knows about afero, policies or agents.
package imports
