# The first process of a host, in namespaces of its own. It prints its number outside of them, and ends all processes of
# the host when its input ends. Its arguments are the host's name and the folders to keep where the host gets an empty
# one of its own. HOSTS is the text of its /etc/hosts, and OWN its own folders.
set -e
read -r process rest < /proc/self/stat
name=$1
shift
hostname "$name"
printf '%s\n' "$HOSTS" > /dev/shm/hosts.$process
mount -t tmpfs tmpfs /mnt
mv /dev/shm/hosts.$process /mnt/hosts
mount --bind /mnt/hosts /etc/hosts
number=0
for folder; do
  number=$((number + 1))
  mkdir /mnt/$number
  mount --rbind "$folder" /mnt/$number
done
for folder in $OWN; do
  mount -t tmpfs -o mode=1777 tmpfs "$folder"
done
number=0
for folder; do
  number=$((number + 1))
  mkdir -p "$folder"
  mount --rbind /mnt/$number "$folder"
done
umount -l /mnt
mount -t sysfs sysfs /sys  # lists the interfaces of this network
mount -t proc proc /proc
echo "$process"
exec cat
