package match

// sort puts a list in ascending order. It is a heap sort: the standard library's is
// thirty times the code, for speed that lists as short as these don't show.
func sort(list []int) {
	for i := len(list)/2 - 1; i >= 0; i-- {
		sink(list, i)
	}
	for n := len(list) - 1; n > 0; n-- {
		list[0], list[n] = list[n], list[0]
		sink(list[:n], 0)
	}
}

// sink moves one down to where those below it, in a heap, are no larger.
func sink(heap []int, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1] > heap[child] {
			child++
		}
		if heap[i] >= heap[child] {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
