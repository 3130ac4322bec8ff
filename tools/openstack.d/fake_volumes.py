"""A volume driver of Cinder without disks: images are cloned at once."""

from cinder.tests import fake_driver


class Driver(fake_driver.FakeLoggingVolumeDriver):
    def clone_image(
        self, context, volume, image_location, image_meta, image_service
    ):
        return {}, True
