package catalogfile

// Buckets is how many buckets the compiled table of programs has.
const Buckets = 4096

// Bucket returns the bucket of a program by a hash of its name (FNV-1a), which does not
// change when other programs are added.
func Bucket(name string) int {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return int((h ^ h>>16) % Buckets)
}
