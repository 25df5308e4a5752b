# The same verbs for those who type make; the lines live in ./run.
.PHONY: all test bench check docs clean
all:
	./run
test bench check docs clean:
	./run $@
