/* A process stuck with its memory locked: whoever reads its command line hangs.
 *
 * usage: stuck FILE   (FILE on a FUSE file system)
 *
 * Maps FILE shared and writes to it, says so, and waits for a line. Once the file system's server is stopped, one
 * thread unmaps: it waits for the page's write-back with the lock of the memory held. Another one maps: it queues for
 * that lock as a writer, and readers queue behind it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void *mapped;

static void *unmap(void *unused) {
	munmap(mapped, 4096);
	return unused;
}

static void *map(void *unused) {
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return unused;
}

int main(int argc, char **argv) {
	pthread_t threads[2];
	int file = argc == 2 ? open(argv[1], O_RDWR) : -1;
	mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (mapped == MAP_FAILED)
		return 1;
	*(char *)mapped = 'x';
	puts("dirty");
	fflush(stdout);
	getchar();
	pthread_create(&threads[0], NULL, unmap, NULL);
	usleep(300000);
	pthread_create(&threads[1], NULL, map, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
